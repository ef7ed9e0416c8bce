/** Tests that the Observables of our client behave as those of Nest's client, which gets the same calls. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, before, beforeEach, describe, it } from 'node:test'
import { DEAF_PORT } from '@elysia-microservices/test-support'
import { Controller } from '@nestjs/common'
import { type ClientProxy, EventPattern, MessagePattern } from '@nestjs/microservices'
import {
  firstValueFrom,
  lastValueFrom,
  merge,
  type Observable,
  of,
  retry,
  switchMap,
  take,
  toArray
} from 'rxjs'
import { clientOf, type OurService, startService, stockClientOf } from './testing/service.ts'

const seen: unknown[] = []

@Controller()
class NotesController {
  @MessagePattern('ask')
  ask(data: unknown): unknown {
    seen.push(data)
    return data
  }

  @MessagePattern('three')
  three(): Observable<number> {
    return of(1, 2, 3)
  }

  @EventPattern('note')
  note(data: unknown): void {
    seen.push(data)
  }
}

/** A client whose protected members tests replace, as Nest's users do in subclasses. */
type OpenClient = ClientProxy<{ connect: () => void }> &
  Record<'publish' | 'dispatchEvent', (...args: unknown[]) => unknown>

const CLIENTS: Record<string, (port: number) => ClientProxy> = {
  "Nest's client": (port) => stockClientOf({ port }),
  'our client, rsocket': (port) => clientOf({ port }, 'rsocket'),
  'our client, nest': (port) => clientOf({ port }, 'nest')
}

/** The values and the end of an Observable, as far as all clients have the same. */
function told(values: Observable<unknown>): Promise<unknown[]> {
  const got: unknown[] = []
  return new Promise((resolve) =>
    values.subscribe({
      next: (value) => void got.push(value),
      error: (error: Error & { code?: unknown }) => resolve([...got, error.code ?? error.message]),
      complete: () => resolve([...got, 'complete'])
    })
  )
}

/** All that the service was sent, when everything sent before has arrived. */
async function arrived(client: Pick<ClientProxy, 'send'>): Promise<unknown[]> {
  await firstValueFrom(client.send('ask', 'last'))
  return seen.splice(0)
}

const store = new AsyncLocalStorage<string>()

const CASES: Record<string, readonly [(client: OpenClient) => Promise<unknown>, unknown]> = {
  'no pattern and no data are errors of the Observable': [
    async (client) => {
      const all = [
        client.send(undefined, 1),
        client.send('ask', null),
        client.emit(null, 1),
        client.emit('note', undefined)
      ]
      return Promise.all(all.map(told))
    },
    Array(4).fill(['The invalid data or message pattern (undefined/null)'])
  ],
  'a request is sent for each subscription': [
    async (client) => {
      const asked = client.send('ask', 1)
      await Promise.all([told(asked), told(asked)])
      return arrived(client)
    },
    [1, 1, 'last']
  ],
  'a caller who unsubscribes in the same turn sends nothing': [
    async (client) => {
      const last = async () => told(of(1, 2, 3).pipe(switchMap((data) => client.send('ask', data))))
      const values = [await last(), await last()]
      client.send('ask', 'given up').subscribe().unsubscribe()
      return [values, await arrived(client)]
    },
    [
      [
        [3, 'complete'],
        [3, 'complete']
      ],
      [3, 3, 'last']
    ]
  ],
  'data that change in the turn of the call are sent as they are then': [
    async (client) => {
      await client.connect()
      const data = { n: 1 }
      const answer = told(client.send('ask', data))
      client.emit('note', data)
      data.n = 2
      await answer
      return arrived(client)
    },
    [{ n: 2 }, { n: 2 }, 'last']
  ],
  'all values of a stream arrive, or as many as are taken': [
    async (client) => {
      const values = () => client.send('three', 0)
      return [await told(values()), await lastValueFrom(values().pipe(take(2), toArray()))]
    },
    [
      [1, 2, 3, 'complete'],
      [1, 2]
    ]
  ],
  'requests and events arrive in order, before and after the client is connected': [
    async (client) => {
      const calls: Promise<unknown>[] = []
      const call = (n: number) => {
        if (n % 3 === 0) client.emit('note', n)
        else calls.push(told(client.send('ask', n)))
      }
      const callAll = (from: number) => {
        for (let n = from; n < from + 10; n++) call(n)
      }
      // The callback runs before those who wait for the connection.
      client.on('connect', () => callAll(10))
      callAll(0)
      await client.connect()
      callAll(20)
      await Promise.all(calls)
      return (await arrived(client)).filter((data) => typeof data === 'number')
    },
    [...Array(30).keys()]
  ],
  'an event is sent once, and its outcome told to those who are there': [
    async (client) => {
      const sent = client.emit('note', 'once')
      const outcomes = await Promise.all([told(sent), told(sent)])
      return [outcomes, await told(sent), await arrived(client)]
    },
    [
      [
        [undefined, 'complete'],
        [undefined, 'complete']
      ],
      ['complete'],
      ['once', 'last']
    ]
  ],
  'a hook runs for each subscription, in its own async context': [
    async (client) => {
      const contexts: unknown[] = []
      await client.connect()
      client.setOnDispatchHook(() => void contexts.push(store.getStore()))
      const calls = ['a', 'b'].map((name) => store.run(name, () => told(client.send('ask', name))))
      store.run('c', () => client.emit('note', 'c'))
      await Promise.all(calls)
      return contexts
    },
    ['a', 'b', 'c']
  ],
  'a hook that throws fails the call': [
    async (client) => {
      client.setOnDispatchHook(() => {
        throw new Error('the hook is broken')
      })
      const failed = [await told(client.send('ask', 1)), await told(client.emit('note', 1))]
      client.setOnDispatchHook(() => {})
      return [failed, await arrived(client)]
    },
    [[['the hook is broken'], ['the hook is broken']], ['last']]
  ],
  'a failed call is retried by subscribing to it once more': [
    async (client) => {
      let runs = 0
      client.setOnDispatchHook(() => {
        if (++runs < 3) throw new Error('not yet')
      })
      return [await told(client.send('ask', 1).pipe(retry(5))), runs]
    },
    [[1, 'complete'], 3]
  ],
  'what a subclass has of its own is called': [
    async (client) => {
      const called: string[] = []
      for (const name of ['connect', 'publish', 'dispatchEvent'] as const) {
        const own = client[name].bind(client) as (...args: unknown[]) => never
        client[name] = (...args: unknown[]) => {
          called.push(name)
          return own(...args)
        }
      }
      await told(client.send('ask', 1))
      await told(client.emit('note', 1))
      await told(client.send('ask', 1))
      return called
    },
    ['connect', 'publish', 'connect', 'dispatchEvent', 'connect', 'publish']
  ]
}

for (const [name, make] of Object.entries(CLIENTS)) {
  describe(`the Observables of ${name}`, () => {
    let service: OurService
    before(async () => {
      service = await startService({ controllers: [NotesController] })
    })
    after(() => service.app.close())
    beforeEach(() => {
      seen.length = 0
    })

    for (const [title, [run, expected]] of Object.entries(CASES))
      it(title, async () => {
        const client = make(service.port) as unknown as OpenClient
        assert.deepEqual(await run(client), expected)
        await client.close()
      })

    it('fail when the client cannot connect, and each subscription tries to connect', async () => {
      const client = make(DEAF_PORT)
      const asked = client.send('ask', 1)
      const both = merge(asked.pipe(retry(1)), client.send('ask', 2))
      assert.deepEqual(await told(both), ['ECONNREFUSED'])
      assert.deepEqual(await told(client.emit('note', 1)), ['ECONNREFUSED'])
      assert.deepEqual(await told(asked), ['ECONNREFUSED'])
      await client.close()
    })
  })
}
