/** `Bun.serve` alone, with its own routes: no framework on Bun can be faster. */
import { serve } from '../serve.ts'
import { answerOf, createdOf, DOCUMENT, HELLO, health, type NewUser, pathOf, userOf } from '../work.ts'

type Handler = (request: Bun.BunRequest<'/:id'>) => Response | Promise<Response>

await serve(async ({ host, port, routes, users }) => {
  const table: Record<string, Record<'GET' | 'POST', Handler> | { GET: Handler } | { POST: Handler }> = {
    '/': { GET: () => new Response(HELLO) },
    '/health': { GET: () => Response.json(health()) },
    '/api/user/:id': { GET: ({ params }) => Response.json(userOf(params.id)) },
    '/api/user': { POST: async (request) => Response.json(createdOf((await request.json()) as NewUser)) },
    '/compressed': {
      GET: () =>
        new Response(Bun.gzipSync(JSON.stringify(DOCUMENT)), {
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }
        })
    },
    '/users': {
      GET: async ({ url }) => Response.json(await users(Number(new URL(url).searchParams.get('limit'))))
    }
  }
  for (const route of routes) {
    table[pathOf(route)] = { GET: ({ params }) => new Response(answerOf(route, params.id)) }
  }
  Bun.serve({
    hostname: host,
    port,
    routes: table as never,
    fetch: () => new Response(null, { status: 404 })
  })
  return port
})
