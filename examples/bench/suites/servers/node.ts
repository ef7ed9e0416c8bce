/** `node:http` alone, without a router: no framework on Node can be faster. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { serve } from '../serve.ts'
import { createdOf, DOCUMENT, HELLO, health, type NewUser, userOf } from '../work.ts'

const compress = promisify(gzip)

await serve(async ({ host, port, users }) => {
  const send = (response: ServerResponse, value: unknown) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(value))
  }
  const answer = async (
    { method, url = '' }: IncomingMessage,
    request: IncomingMessage,
    response: ServerResponse
  ) => {
    if (url === '/') response.end(HELLO)
    else if (url === '/health') send(response, health())
    else if (url === '/api/user' && method === 'POST')
      send(response, createdOf((await json(request)) as NewUser))
    else if (url.startsWith('/api/user/')) send(response, userOf(url.slice('/api/user/'.length)))
    else if (url === '/compressed') {
      response.setHeader('content-type', 'application/json')
      response.setHeader('content-encoding', 'gzip')
      response.end(await compress(JSON.stringify(DOCUMENT)))
    } else if (url.startsWith('/users?limit=')) {
      send(response, await users(Number(url.slice('/users?limit='.length))))
    } else response.writeHead(404).end()
  }
  const server = createServer((request, response) => {
    answer(request, request, response).catch(() => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return port
})
