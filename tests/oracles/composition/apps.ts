/** Trees as apps of Elysia, whose routes are the handlers. */
import { Elysia } from 'elysia'
import { build, type Chain, type Dialect, newSite } from './build.ts'
import { demands, demandsOpenly } from './schemas.ts'
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
  // Elysia writes into schemas, so none is used twice.
  schema: (key) => (aot ? demands(key) : demandsOpenly(key)),
  prefix: (prefix) => `/${prefix}`,
  part: (part) => (part === 'data' ? 'body' : part),
  data: ({ body }) => body
})

export const COMPILED = dialectOf(true)
export const DYNAMIC = dialectOf(false)

/** The same tree as an app. @param dialect one of Elysia's two modes */
export async function askElysia(steps: Steps, inputs: readonly Input[], dialect: Dialect): Promise<Outcomes> {
  const site = newSite(dialect, 'part')
  const app = build(dialect.newChain(), steps, site) as App
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

/** The answer as the caller of a service would get it. */
async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text()
  const value = jsonOf(text)
  // An error is a text, or an object of its name and message.
  if (value === undefined || Object.keys(value).join() === 'name,message') return { code: 'FAILED' }
  if (value['type'] !== 'validation') return { value }
  return { code: value['on'] === 'response' ? 'FAILED' : 'VALIDATION' }
}

function jsonOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return undefined
  }
}
