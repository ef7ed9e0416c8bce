/**
 * Loaded before a program: the program then imports version 2 of Kafka's driver, and prints this once on stderr.
 * Works in Node and Bun, and in the processes that they start, by `NODE_OPTIONS=--import=…` and
 * `BUN_OPTIONS=--preload=…`.
 */
const NAME = '@platformatic/kafka'
const url = new URL(`./node_modules/${NAME}/dist/index.js`, import.meta.url).href
let isSaid = false

function version2() {
  if (!isSaid) console.error(`${NAME} is version 2`)
  isSaid = true
  return url
}

if (process.versions.bun === undefined) {
  const { registerHooks } = await import('node:module')
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === NAME ? { url: version2(), shortCircuit: true } : next(specifier, context)
  })
} else {
  const { plugin } = await import('bun')
  plugin({
    name: NAME,
    // Bun does not call `onResolve` of a plugin for packages, but accepts a whole module from a plugin.
    setup: (build) =>
      void build.module(NAME, async () => ({ exports: await import(version2()), loader: 'object' }))
  })
}
