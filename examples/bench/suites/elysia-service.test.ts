import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { microservice } from 'elysia-microservices'
import type { Work } from './serve.ts'
import { elysiaApp } from './servers/elysia-app.ts'
import { routes } from './work.ts'

/** The functions to which Elysia compiles an app: one for all requests, and one for each route. */
function compiled(app: ReturnType<typeof elysiaApp>): string[] {
  app.compile()
  const ofRoutes = app.routes.map(
    (route) => `${route.method} ${route.path} ${(route as unknown as { compile(): unknown }).compile()}`
  )
  return [String(app.fetch), ...ofRoutes]
}

describe('an app of Elysia with a service in it', () => {
  for (const [what, given] of [
    ['a few routes', { routes: [], compresses: false }],
    ['500 routes', { routes, compresses: false }],
    ['compression', { routes: [], compresses: true }]
  ] as const) {
    it(`answers by the same code as the app without a service: ${what}`, () => {
      const work: Work = {
        ...{ host: '127.0.0.1', port: 0, workers: 1, inFlight: 0 },
        ...given,
        users: async () => []
      }
      const service = microservice({ transport: 'tcp', port: 0 }).message('echo', ({ data }) => data)
      const alone = compiled(elysiaApp(work))
      assert.ok(alone.length > given.routes.length)
      assert.deepEqual(compiled(elysiaApp(work).use(service) as never), alone)
      // A check that the code can differ at all.
      const hooked = compiled(
        elysiaApp(work)
          .onBeforeHandle({ as: 'global' }, () => {})
          .get('/more', () => 1) as never
      )
      assert.notDeepEqual(hooked, alone)
    })
  }
})
