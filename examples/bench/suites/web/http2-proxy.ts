/**
 * HTTP/2 with TLS in front of a server with HTTP/1.1, as usual for websites: all requests of a page share one
 * connection.
 */
import { readFileSync } from 'node:fs'
import { Agent, request as ask } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { obeyParent } from '../../peers/run-server.ts'
import { BENCH_FOLDER } from '../../process/folder.ts'

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    to: { type: 'string' },
    'with-parent': { type: 'boolean' }
  }
})

const certificate = (name: string) => readFileSync(join(BENCH_FOLDER, '../../tests/fixtures/tls', name))
/** Headers that belong to a connection, not to a message; HTTP/2 does not allow them. */
const HOP = ['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'proxy-connection']

const agent = new Agent({ keepAlive: true, noDelay: true })
const server = createSecureServer({ cert: certificate('service.pem'), key: certificate('service.key') })
server.on('request', (incoming, outgoing) => {
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).filter(([name]) => !name.startsWith(':'))
  )
  const forwarded = ask({
    host: values.host,
    port: Number(values.to),
    path: incoming.url,
    method: incoming.method,
    headers: { ...headers, host: incoming.authority },
    agent
  })
  forwarded.on('response', (answer) => {
    const kept = Object.entries(answer.headers).filter(([name]) => !HOP.includes(name))
    outgoing.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept))
    answer.pipe(outgoing)
  })
  forwarded.on('error', () => outgoing.stream?.close())
  outgoing.on('close', () => forwarded.destroy())
  incoming.pipe(forwarded)
})
server.on('sessionError', () => {})
if (values['with-parent'] === true) obeyParent()
process.once('SIGTERM', () => process.exit(0))
server.listen(Number(values.port), values.host, () => {
  console.log(`listening on tcp://${values.host}:${(server.address() as AddressInfo).port}`)
})
