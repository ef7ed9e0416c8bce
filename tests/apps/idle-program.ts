/** Calls a service in its own process, and closes nothing. */
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'

const transport = memory()
await microservice({ transport })
  .message('echo', ({ data }) => data)
  .listen()
console.log(await connect({ transport }).request('echo', 'answered', { timeout: 3_600_000 }))
