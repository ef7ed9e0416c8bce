/** Elysia alone, for Eden: routes, and generators whose values are streamed. */
import { Elysia, sse } from 'elysia'
import { recordsLater } from '../../peers/work.ts'
import { serve } from '../../suites/serve.ts'
import { blocks, PAGE, VALUES } from '../../suites/web/work.ts'
import { userOf } from '../../suites/work.ts'

async function* events<T>(values: AsyncIterable<T>) {
  for await (const data of values) yield sse({ data })
}

const app = new Elysia()
  .get('/', () => new Response(PAGE.body, PAGE))
  .get('/user/:id', ({ params }) => userOf(params.id))
  .get('/records', () => events(recordsLater(VALUES)))
  .get('/blocks', () => events(blocks()))

export type EdenApp = typeof app

await serve(async ({ host, port }) => {
  await new Promise((resolve) => app.listen({ hostname: host, port }, resolve))
  return port
})
