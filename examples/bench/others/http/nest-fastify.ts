/** Nest on Fastify, as its documentation shows it. */
import compress from '@fastify/compress'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { serve } from '../../suites/serve.ts'
import { nestModule } from './nest-app.ts'

await serve(async (work) => {
  const app = await NestFactory.create<NestFastifyApplication>(nestModule(work, '*'), new FastifyAdapter(), {
    logger: false
  })
  if (work.compresses) await app.register(compress as never)
  await app.listen(work.port, work.host)
  return work.port
})
