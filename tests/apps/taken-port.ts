/** An app whose service cannot listen, in a program that ignores uncaught errors. */
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { microservice } from 'elysia-microservices'
import { underBun } from '../workspace.ts'

process.on('unhandledRejection', () => console.log('swallowed'))
process.on('uncaughtException', () => console.log('swallowed'))

const [, , port] = process.argv
new Elysia(underBun ? {} : { adapter: node() })
  .use(microservice({ name: 'orders', transport: 'tcp', host: '127.0.0.1', port: Number(port) }))
  .listen(0)
