/** Writes a composition as the text of a program. */
import { type Chain, type Dialect, NAMES } from './build.ts'
import { OURS } from './services.ts'

type Part = readonly [name: string, make: (dialect: Dialect) => Chain]

/** The text of our services. A hook is named by its place, and by the key of data with which it acts. */
export function programOf(parts: readonly Part[]): string {
  const chains = parts.map(([name, make]) => {
    const dialect: Dialect = {
      ...OURS,
      newChain: () => writing('microservice()'),
      addClass: (chain, as, classes) => (chain as never as Written).error({ as }, classes),
      addHandler: (chain, handler, run, options, isWrapped) => {
        const written = chain as never as Written
        return (isWrapped ? written.wrap(NEXT) : written).message(handler, run, options)
      }
    }
    return `const ${name} = ${String(make(dialect))}`
  })
  return chains.join('\n')
}

const NEXT = () => undefined
NAMES.set(NEXT, '(next) => next')

interface Written extends Chain {
  error(options: object, classes: object): Written
  message(name: string, run: unknown, options: object): Written
  wrap(run: unknown): Written
}

/** A chain whose methods add their call to a text. */
function writing(text: string): Chain {
  const chain: object = new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === Symbol.toPrimitive || name === 'toString') return () => text
        if (name === IS_CHAIN) return true
        return (...given: unknown[]) =>
          writing(`${text}\n  .${String(name)}(${given.map(textOf).join(', ')})`)
      }
    }
  )
  return chain as Chain
}

const IS_CHAIN = Symbol('chain')

function textOf(value: unknown): string {
  if (typeof value === 'function') {
    const name = NAMES.get(value)
    if (name !== undefined) return `hook('${name}')`
    if (value.prototype instanceof Error) return value.name
    // The callback of a group, or a macro that is a function.
    const inner: unknown = (value as (chain: Chain) => unknown)(writing('group'))
    return `(group) => ${textOf(inner).replaceAll('\n', '\n  ')}`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (IS_CHAIN in value || (value as { [IS_CHAIN]?: true })[IS_CHAIN])
    return String(value).replaceAll('\n', '\n  ')
  if ('properties' in value) return `t.Object({ ${Object.keys(value.properties as object)[0]}: t.String() })`
  return `{ ${Object.entries(value)
    .map(([name, item]) => `${name}: ${textOf(item)}`)
    .join(', ')} }`
}
