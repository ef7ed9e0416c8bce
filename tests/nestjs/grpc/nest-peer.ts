/**
 * NestJS's own ends in a process of their own, where grpc-js is found (NODE_PATH): `serve <port>` serves until stdin ends,
 * `call <port>` prints the answers to all calls as JSON, `suite <server> <client> <megabytes>` the outcomes of NestJS's suites.
 */
import { createRequire } from 'node:module'
import { answers, callsBack, type MetadataClass } from './callers.ts'
import { clientOf, serveNest } from './ends.ts'
import { type Maker, outcomes } from './suite.ts'

const [task = '', ...given] = process.argv.slice(2)
const port = Number(given[0])

if (task === 'serve') {
  const running = await serveNest('Nest', port)
  process.stdin.on('end', () => void running.close()).resume()
  console.log('ready')
} else if (task === 'suite') {
  const [server, client, large] = given as [Maker, Maker, string]
  console.log(JSON.stringify(await outcomes(server, client, Number(large))))
  process.exit()
} else {
  const requireOfNest = createRequire(import.meta.resolve('@nestjs/microservices'))
  const { Metadata } = requireOfNest('@grpc/grpc-js') as { readonly Metadata: MetadataClass }
  const nest = clientOf('Nest', port)
  console.log(JSON.stringify([await answers(nest, Metadata), await callsBack(nest)]))
  nest.close()
}
