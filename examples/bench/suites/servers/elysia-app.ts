/** The app of Elysia, alone or with additions. */
import { gzipSync } from 'node:zlib'
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { currentRuntime } from '../../process/runtime.ts'
import type { Work } from '../serve.ts'
import { answerOf, createdOf, DOCUMENT, HELLO, health, type NewUser, pathOf, userOf } from '../work.ts'

/** The gzip function of the runtime: Bun's own takes a fifth less time than its `node:zlib`. */
const gzip: (bytes: string | ArrayBuffer) => Uint8Array<ArrayBuffer> =
  currentRuntime === 'bun' ? Bun.gzipSync : gzipSync

export const newApp = () => new Elysia(currentRuntime === 'node' ? { adapter: node() } : {})

/**
 * Compresses answers as Elysia's documentation of `mapResponse` shows, because Elysia has no compression of its own.
 */
export const compression = new Elysia({ name: 'compression' }).mapResponse(
  { as: 'global' },
  ({ responseValue, set }) => {
    set.headers['content-encoding'] = 'gzip'
    return new Response(gzip(JSON.stringify(responseValue)), {
      headers: { 'content-type': 'application/json' }
    })
  }
)

/** Compresses answers that are a `Response` already, as those of a gateway. */
export const compressionOfResponses = new Elysia({ name: 'compression' }).mapResponse(
  { as: 'global' },
  async ({ responseValue, set }) => {
    set.headers['content-encoding'] = 'gzip'
    const { headers } = responseValue as Response
    headers.set('content-encoding', 'gzip')
    return new Response(gzip(await (responseValue as Response).arrayBuffer()), { headers })
  }
)

export function elysiaApp({ routes, users, compresses }: Work) {
  const app = newApp()
  if (compresses) app.use(compression)
  app
    .get('/', () => HELLO)
    .get('/health', () => health())
    .get('/api/user/:id', ({ params }) => userOf(params.id))
    .post('/api/user', ({ body }) => createdOf(body as NewUser))
    .get('/compressed', () => DOCUMENT)
    .get('/users', ({ query }) => users(Number(query['limit'])))
  for (const route of routes) {
    // In a static route, `params` is undefined.
    app.get(pathOf(route), ({ params }) => answerOf(route, (params as { id?: string } | undefined)?.id))
  }
  return app
}

/** Starts to listen. Neither adapter reports when it listens. */
export async function listen(
  app: { listen(options: object): unknown },
  { host, port }: Work
): Promise<number> {
  app.listen({ hostname: host, port })
  const { untilListening } = await import('../../peers/http/app.ts')
  await untilListening(host, port)
  return port
}
