/** All ways in which an app can hold a service: it listens when the app does, answers, and stops with the app. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Log, until, within } from '@elysia-microservices/test-support'
import { node } from '@elysiajs/node'
import { type AnyElysia, Elysia } from 'elysia'
import { underBun } from '../workspace.ts'
import { lazyService } from './lazy.ts'
import { ask, type Held, newService } from './service.ts'

/** An Elysia app with the adapter of this runtime. */
const newApp = () => (underBun ? new Elysia() : new Elysia({ adapter: node() }))

/** An app that listens. */
interface Listening {
  stop(): Promise<unknown>
}

/**
 * Lets an app listen.
 * @param late services that are added when the app listens already: on Node they are not told when the app stops
 */
async function listen(app: AnyElysia, ...late: Held[]): Promise<Listening> {
  const server = await new Promise<{ stop(): unknown }>((resolve) => app.listen(0, resolve as never))
  if (underBun || late.length === 0) return { stop: () => app.stop(true) }
  return {
    async stop() {
      await Promise.all(late.map((service) => service.stop()))
      await server.stop()
    }
  }
}

const isUp = (service: Held) => until('The service listens', () => service.address !== undefined)
const later = <Value>(value: Value) => new Promise<Value>((resolve) => setTimeout(resolve, 5, value))

/** The ways in which an app can get the service. */
const WAYS: Readonly<Record<string, (service: ReturnType<typeof newService>) => AnyElysia>> = {
  'by use': (service) => newApp().use(service),
  'by an app used in it': (service) => newApp().use(new Elysia().use(service)),
  'by a named app used twice': (service) => {
    const plugin = new Elysia({ name: 'plugin' }).use(service)
    return newApp().use(plugin).use(new Elysia().use(plugin))
  },
  'by an app that gets it after it was used': (service) => {
    const plugin = new Elysia()
    const app = newApp().use(plugin)
    plugin.use(service)
    return app
  },
  'by an app with a prefix': (service) => newApp().use(new Elysia({ prefix: '/v1' }).use(service)),
  'by a function': (service) => newApp().use((app) => app.use(service)),
  'by a group': (service) => newApp().group('/v1', (group) => group.use(service)),
  'by a guard': (service) => newApp().guard({}, (group) => group.use(service)),
  'by a group of an app used in it': (service) =>
    newApp().use(new Elysia().group('/v1', (group) => group.use(service))),
  'by apps, three deep': (service) =>
    newApp().use(new Elysia().use(new Elysia().use(new Elysia().use(service)))),
  'by groups and guards, three deep': (service) =>
    newApp().use(
      new Elysia().group('/a', (a) =>
        a.guard({}, (b) => b.guard({}, (c) => c.use(new Elysia().use(service))))
      )
    ),
  'by an async function': (service) =>
    newApp().use(async (app) => {
      await later(undefined)
      return app.use(service)
    }),
  'by an async function that makes an app': (service) =>
    newApp().use(async () => {
      await later(undefined)
      return new Elysia().use(service)
    }),
  'by a promise of an app': (service) => newApp().use(later(new Elysia().use(service))),
  'by a promise of a module': (service) => newApp().use(later({ default: new Elysia().use(service) })),
  'by a promise in an app used in it': (service) =>
    newApp().use(new Elysia().use(later(new Elysia().group('/v1', (group) => group.use(service))))),
  'by a promise in a group': (service) =>
    newApp().group('/v1', (group) => group.use(later(new Elysia().use(service))))
}

describe('a service held by an app', () => {
  for (const [way, hold] of Object.entries(WAYS)) {
    it(`${way} listens, answers and stops with it`, async () => {
      const service = newService()
      const app = hold(service)
      assert.equal(service.address, undefined)
      for (let round = 0; round < 2; round++) {
        const listening = await listen(app, ...(/async|promise/.test(way) ? [service] : []))
        await isUp(service)
        assert.equal(await ask(service, way), way)
        await listening.stop()
        assert.equal(service.address, undefined)
        // On Node the adapter creates its server in `fetch`, which works only once.
        if (!underBun) break
      }
    })
  }

  it('by a lazy import listens, answers and stops with it', async () => {
    const app = newApp().use(import('./lazy.ts'))
    const listening = await listen(app, lazyService)
    await isUp(lazyService)
    assert.equal(await ask(lazyService, 'lazy'), 'lazy')
    await listening.stop()
    assert.equal(lazyService.address, undefined)
  })

  it('by a lazy import that is awaited first', async () => {
    const service = newService()
    const app = newApp().use(later(new Elysia().use(service)))
    await app.modules
    assert.equal(service.address, undefined)
    const listening = await listen(app)
    await isUp(service)
    await listening.stop()
    assert.equal(service.address, undefined)
  })

  it('beside another service', async () => {
    const [a, b] = [newService(), newService()]
    const app = newApp()
      .use(a)
      .group('/v1', (group) => group.use(b))
    const listening = await listen(app)
    await Promise.all([isUp(a), isUp(b)])
    assert.deepEqual(await Promise.all([ask(a, 1), ask(b, 2)]), [1, 2])
    await listening.stop()
    assert.deepEqual([a.address, b.address], [undefined, undefined])
  })

  it('and by another app stops with the last of them', async () => {
    const service = newService()
    const first = newApp().use(service)
    const second = newApp().group('/v1', (group) => group.use(service))
    const listening = [await listen(first), await listen(second)]
    await isUp(service)
    await listening[0]!.stop()
    assert.equal(await ask(service, 'still here'), 'still here')
    await listening[1]!.stop()
    assert.equal(service.address, undefined)
  })

  it('that is only mounted logs that nothing starts it', async () => {
    const log = new Log()
    const service = newService(log.logger)
    const app = newApp().mount('/v1', new Elysia().use(service))
    const listening = await listen(app, service)
    await within(log.has("The service 'held' does not listen"), 'The warning')
    assert.equal(service.address, undefined)
    await listening.stop()
  })
})
