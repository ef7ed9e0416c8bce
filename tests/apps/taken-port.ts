/** An app one of whose ports is taken, in a program that ignores uncaught errors. Arguments: port of the service, of HTTP. */
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { microservice } from 'elysia-microservices'
import { underBun } from '../workspace.ts'

process.on('unhandledRejection', () => console.log('swallowed'))
process.on('uncaughtException', () => console.log('swallowed'))

const [, , port, http] = process.argv
new Elysia(underBun ? {} : { adapter: node() })
  .use(microservice({ name: 'orders', transport: 'tcp', host: '127.0.0.1', port: Number(port) }))
  .listen({ hostname: '127.0.0.1', port: Number(http) })
