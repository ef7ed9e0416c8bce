/** A service of this project, called by the gateway and by callers of `users.list`. */
import { type Message, microservice } from 'elysia-microservices'
import { serve, type Work } from '../serve.ts'
import { answerOf, createdOf, DOCUMENT, HELLO, health, type NewUser, type User, userOf } from '../work.ts'

const serviceOf = ({ host, port, routes, users, inFlight, workers }: Work) => {
  const service = microservice({
    transport: 'tcp',
    host,
    port,
    ...(inFlight > 0 && { limits: { inFlight } }),
    ...(workers > 1 && { workers })
  })
    .message('hello', () => HELLO)
    .message('health', () => health())
    .message('users.get', ({ data }: Message<{ id: string }>) => userOf(data.id))
    .message('users.create', ({ data }: Message<NewUser>) => createdOf(data))
    .message('document', () => DOCUMENT)
    .message(
      'users.list',
      ({ data }: Message<{ limit: number }>): Promise<readonly User[]> => users(data.limit)
    )
  for (const route of routes) {
    service.message(route.name, ({ data }: Message<{ id?: string }>) => answerOf(route, data?.id))
  }
  return service
}

await serve(async (work) => {
  const service = serviceOf(work)
  await service.listen()
  return service.workers.role === 'worker' ? undefined : work.port
})
