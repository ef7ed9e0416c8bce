/**
 * A program that serves a gateway until SIGTERM. Its arguments are the service's port, who created the client, and
 * the port of the gateway.
 */
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { underBun } from '../workspace.ts'

const [, , port, whose, http] = process.argv
const newClient = () => connect({ host: '127.0.0.1', port: Number(port) })
const app = new Elysia(underBun ? {} : { adapter: node() }).group('/v1', (group) =>
  group.use(
    gateway(
      whose === 'made' ? newClient : newClient(),
      { 'GET /echo': 'echo', 'GET /live': { stream: 'live' } },
      { closeClients: whose === 'closed' }
    )
  )
)
app.listen(Number(http), () => {
  console.log(JSON.stringify({ url: `http://localhost:${http}/v1` }))
})
process.once('SIGTERM', () => void app.stop())
