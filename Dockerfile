# An image that serves the explorer; see docs/serving.md for how to run it.
#
#   docker build -t delta-explorer .
FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY . /source
# with the libraries of the object stores; without pyspark, which needs Java besides
RUN python3 -m venv /opt/delta-explorer \
 && /opt/delta-explorer/bin/pip install --no-cache-dir -c /source/constraints.txt "/source[s3,gcs,azure]"

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home explorer \
 && install -d -o explorer -g explorer /state
COPY --from=build /opt/delta-explorer /opt/delta-explorer
USER explorer
ENV XDG_STATE_HOME=/state PYTHONUNBUFFERED=1 LC_ALL=C.UTF-8
VOLUME /state
EXPOSE 5006
# what is being carried out when the container is stopped ends between two changes
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:5006/health', timeout=4)"]
ENTRYPOINT ["/opt/delta-explorer/bin/delta-explorer", "serve", "--no-open", "--address", "0.0.0.0", "--port", "5006", "--state-dir", "/state"]
CMD ["--help"]
