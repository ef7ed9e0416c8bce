/** Trees as apps of Elysia, whose routes are the handlers. */
import { Elysia } from 'elysia'
import { build, type Chain, type Dialect, newSite } from './build.ts'
import { type Outcomes, outcomes } from './services.ts'
import type { Input, Steps } from './tree.ts'

interface App extends Chain {
  post(path: string, handler: unknown, options: object): App
  error(classes: object): App
  handle(request: Request): Promise<Response>
}

const dialectOf = (aot: boolean): Dialect => ({
  newChain: () => new Elysia({ aot }) as unknown as Chain,
  addHandler: (chain, name, handler, options) => (chain as App).post(`/${name}`, handler, options),
  addClass: (chain, _, classes) => (chain as App).error(classes),
  prefix: (prefix) => `/${prefix}`,
  part: (part) => (part === 'data' ? 'body' : part),
  data: ({ body }) => body
})

/** The same tree as an app. @param aot Elysia's mode: whether it compiles handlers */
export async function askElysia(steps: Steps, inputs: readonly Input[], aot: boolean): Promise<Outcomes> {
  const dialect = dialectOf(aot)
  const site = newSite(dialect, 'part')
  const app = dialect.newChain().use(build(dialect.newChain(), steps, site)) as App
  return await outcomes(site.world, inputs, (pattern, { data, headers }) => {
    const url = `http://localhost/${pattern.replaceAll('.', '/')}`
    const request = new Request(url, {
      method: 'POST',
      body: JSON.stringify(data),
      headers: { ...headers, 'content-type': 'application/json' }
    })
    return app.handle(request).then(answerOf, (error: Error) => ({ rejected: error.message }))
  })
}

/** What the caller of a service would get. */
async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text()
  const value = jsonOf(text)
  // An answer of a hook has the place of the hook.
  if (value?.['by'] !== undefined) return { value }
  if (value?.['type'] === 'validation' && value['on'] !== 'response') return { code: 'VALIDATION' }
  return { code: 'FAILED' }
}

function jsonOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return undefined
  }
}
