/** One trace that begins with the span of an HTTP route, as `@elysiajs/opentelemetry` makes it. */
import { describe } from 'node:test'
import type { AnyElysia } from 'elysia'
import { fromOthers } from '../support/others.ts'
import { underBun } from '../workspace.ts'
import { collectTraces, fromHttp } from './tracing.ts'

interface Plugin {
  opentelemetry(): AnyElysia
}

// Under Node 20 Elysia's traces fail for want of Promise.withResolvers.
if (underBun) {
  describe('one trace, with the span of the route', () => {
    fromHttp(collectTraces(), async () => (await fromOthers<Plugin>('opentelemetry')).opentelemetry())
  })
}
