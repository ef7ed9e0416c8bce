/**
 * Loaded before a program: what it imports as Kafka's driver is version 2 of it. The program says so once, on stderr.
 * In Node and Bun, also in the processes that it starts, by `NODE_OPTIONS=--import=…` and `BUN_OPTIONS=--preload=…`.
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
    // Bun asks no plugin where a package is (`onResolve`), but takes a whole module from one.
    setup: (build) =>
      void build.module(NAME, async () => ({ exports: await import(version2()), loader: 'object' }))
  })
}
