/** An HTTP app of Elysia with a service in it, in several processes. */
import { Elysia } from 'elysia'
import { microservice } from 'elysia-microservices'
import { serve } from '../serve.ts'
import { health } from '../work.ts'

await serve(async ({ host, port, workers }) => {
  const service = microservice({ transport: 'tcp', host, port: 0, ...(workers > 1 && { workers }) }).message(
    'health',
    () => health()
  )
  const app = new Elysia().use(service).get('/health', () => health())
  app.listen({ hostname: host, port })
  const { untilListening } = await import('../../peers/http/app.ts')
  await untilListening(host, port)
  return service.workers.role === 'worker' ? undefined : port
})
