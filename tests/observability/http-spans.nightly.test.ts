/** One trace that begins with the span of an HTTP route, created by `@elysiajs/opentelemetry`. */
import { describe } from 'node:test'
import type { AnyElysia } from 'elysia'
import { fromOthers } from '../support/others.ts'
import { underBun } from '../workspace.ts'
import { collectTraces, fromHttp } from './tracing.ts'

interface Plugin {
  opentelemetry(): AnyElysia
}

// Under Node 20, Elysia's traces fail because Promise.withResolvers is missing.
if (underBun) {
  describe('one trace, with the span of the route', () => {
    fromHttp(collectTraces(), async () => (await fromOthers<Plugin>('opentelemetry')).opentelemetry())
  })
}
