/** Nest on Express, as its documentation shows it. */
import { NestFactory } from '@nestjs/core'
import compression from 'compression'
import { serve } from '../../suites/serve.ts'
import { nestModule } from './nest-app.ts'

await serve(async (work) => {
  const app = await NestFactory.create(nestModule(work, '*rest'), { logger: false })
  if (work.compresses) app.use(compression())
  await app.listen(work.port, work.host)
  return work.port
})
