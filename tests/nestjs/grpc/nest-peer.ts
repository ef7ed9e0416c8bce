/**
 * NestJS's own ends in a process of their own, where grpc-js is found (NODE_PATH): `serve <port>` serves until stdin ends,
 * `call <port>` prints the answers to all calls as JSON.
 */
import { createRequire } from 'node:module'
import { answers, callsBack, type MetadataClass } from './callers.ts'
import { clientOf, serveNest } from './ends.ts'

const [task = '', port = ''] = process.argv.slice(2)

if (task === 'serve') {
  const running = await serveNest('Nest', Number(port))
  process.stdin.on('end', () => void running.close()).resume()
  console.log('ready')
} else {
  const requireOfNest = createRequire(import.meta.resolve('@nestjs/microservices'))
  const { Metadata } = requireOfNest('@grpc/grpc-js') as { readonly Metadata: MetadataClass }
  const client = clientOf('Nest', Number(port))
  console.log(JSON.stringify([await answers(client, Metadata), await callsBack(client)]))
  client.close()
}
