// After Bokeh's own script and before Panel's: of Panel's eighty models a page takes the two that
// it is made of, so that the others, and all widgets and tables of Bokeh's, are not made.
// `widgets/served/_page_template.py` looks whether Panel's script is as it is meant here.
(() => {
  const register = Bokeh.register_plugin
  const TAKEN = {"models/column": "Column", "models/reactive_esm": "ReactiveESM"}
  Bokeh.register_plugin = (modules, entry, aliases, externals) => {
    modules[entry] = (require, _module, exports) => {
      const models = {}
      for (const [name, model] of Object.entries(TAKEN)) {
        if (name in aliases) { models[model] = require(aliases[name])[model] }
      }
      require("@bokehjs/base").register_models(models)
      Object.assign(exports, {Panel: models})
    }
    return register(modules, entry, aliases, externals)
  }
})()
