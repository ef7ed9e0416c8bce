/** Calls as an application of NestJS makes them: the same for its own client and for ours. */
import { firstValueFrom, from, lastValueFrom, type Observable, Subject, take, toArray } from 'rxjs'
import type { seen as Seen } from './controller.ts'

/** Nest's ClientGrpc. */
export interface Client {
  getService(name: string): Service
  getClientByServiceName(name: string): object
}
type Service = Readonly<Record<string, (...args: unknown[]) => Observable<unknown>>>
/** The class Metadata of grpc-js, or ours. */
export type MetadataClass = new () => {
  set(name: string, value: string | Uint8Array): void
  add(name: string, value: string | Uint8Array): void
}

export interface ServiceError {
  readonly message: string
  readonly code: number
  readonly details: string
  readonly metadata: { get(name: string): unknown[] }
}

const failure = async (call: Observable<unknown>, name?: string) => {
  const values: unknown[] = []
  try {
    await lastValueFrom(call.pipe(toArray()))
    return 'no error'
  } catch (error) {
    const { message, code, details, metadata } = error as ServiceError
    return {
      ...{ isError: error instanceof Error, message, code, details, values },
      ...(name !== undefined && { metadata: metadata.get(name) })
    }
  }
}
const all = (call: Observable<unknown>) => lastValueFrom(call.pipe(toArray()))

/** A Long, a Buffer and others as plain values. */
export const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, function (this: Record<string, unknown>, name, given: unknown) {
      const own = name === '' ? given : this[name]
      if (own instanceof Uint8Array) return `bytes ${Buffer.from(own).toString('hex')}`
      if (typeof own === 'bigint') return `bigint ${own}`
      return given
    })
  )

/** Calls everything. The result is the same for each service and each client. */
export async function answers(client: Client, Metadata: MetadataClass) {
  const orders = client.getService('Orders')
  const metadata = new Metadata()
  metadata.set('x-user', 'Ada')
  metadata.set('token-bin', Buffer.from([1, 2, 255]))
  const order = {
    ...{ id: 'a', kind: 1, bornAt: '-9007199254740993', big: '18446744073709551615', prices: [1, 2.5] },
    ...{ stock: { berlin: 3, paris: -1 }, cash: { currency: 'EUR', units: 12 }, isPaid: true },
    ...{ placedAt: { seconds: 1_700_000_000, nanos: 500 }, photo: Buffer.from('abc') },
    parent: { id: 'b', card: '1234' }
  }
  const queries = new Subject<object>()
  const chat = all(orders['chat']!(queries.asObservable()))
  queries.next({ id: 'a', count: 1 })
  await new Promise((resolve) => setTimeout(resolve))
  queries.next({ id: 'b' })
  queries.complete()
  return plain({
    names: Object.keys(orders).sort(),
    get: await firstValueFrom(orders['get']!({ id: '7' }, metadata)),
    limited: await firstValueFrom(orders['get']!({ id: '7' }, metadata, { deadline: Date.now() + 50_000 })),
    echo: await firstValueFrom(orders['Echo']!(order)),
    empty: await firstValueFrom(orders['echo']!({})),
    asked: await firstValueFrom(orders['ask']!({ id: 'a', count: 1 })),
    missing: await failure(orders['ask']!({ id: 'missing' })),
    odd: await failure(orders['ask']!({ id: 'odd' })),
    late:
      (await failure(orders['ask']!({ id: 'wait' }, metadata, { deadline: new Date(Date.now() + 30) }))) !==
      'no error',
    numbered: await failure(orders['fail']!({ id: 'numbered' })),
    message: await failure(orders['fail']!({ id: 'message' })),
    text: await failure(orders['fail']!({ id: 'text' })),
    unexpected: await failure(orders['fail']!({ id: 'unexpected' })),
    later: await failure(orders['fail']!({ id: 'later' })),
    rejected: await failure(orders['fail']!({})),
    trailers: await failure(orders['fail']!({ id: 'trailers' }), 'x-why'),
    watched: await all(orders['watch']!({ id: 'w', count: 8 })),
    broken: await failure(orders['watch']!({ id: 'breaks', count: 5 })),
    uploaded: await all(orders['upload']!(from([{ prices: [1, 2] }, { prices: [4] }]), metadata)),
    chat: await chat,
    failedChat: await failure(orders['chat']!(from([{ id: 'a' }, { id: 'fail' }]))),
    raw: await all(orders['raw']!(from([{ id: 'r', count: 18 }]), metadata)),
    failedRaw: await failure(orders['raw']!(from([{ id: 'x', count: 1 }, { id: 'fail' }]))),
    counted: await all(orders['count']!(from([{ count: 2 }, { count: 3 }]))),
    failedCount: await failure(orders['count']!(from([{ count: -2 }]))),
    rates: await firstValueFrom(client.getService('Rates')['convert']!({ currency: 'USD', units: '5' }))
  })
}

/** Leaves calls, and tells how their service notices. */
export async function leaves(client: Client, seen: typeof Seen) {
  const orders = client.getService('Orders')
  const isCancelled = firstValueFrom(seen.cancelled)
  const isUnsubscribed = firstValueFrom(seen.completed)
  const [first] = (await lastValueFrom(
    orders['watch']!({ id: 'for ever' }).pipe(take(1), toArray())
  )) as unknown[]
  const watch = { first, cancelled: await isCancelled, unsubscribed: await isUnsubscribed }
  const chatCancelled = firstValueFrom(seen.cancelled)
  const chatCompleted = firstValueFrom(seen.completed)
  const queries = new Subject<object>()
  const values = new Subject<unknown>()
  const value = firstValueFrom(values)
  const chat = orders['chat']!(queries).subscribe(values)
  queries.next({ id: 'a' })
  await value
  chat.unsubscribe()
  return { watch, chat: [await chatCancelled, await chatCompleted] }
}

/** The result of `leaves`. */
export const LEFT = {
  watch: { first: { text: 'first' }, cancelled: 'watch true', unsubscribed: 'unsubscribed' },
  chat: ['chat', 'chat']
}

/** A client of grpc-js, as `getClientByServiceName()` returns it. */
type Callback = (error: ServiceError | null, value?: unknown) => void
interface CallbackCall {
  on(event: string, listener: (value: never) => void): CallbackCall
  write(value: object, done?: () => void): boolean
  end(): void
}
type CallbackClient = Readonly<Record<string, (...args: unknown[]) => CallbackCall>>

/** Calls by callbacks and streams. */
export async function callsBack(client: Client) {
  const orders = client.getClientByServiceName('Orders') as CallbackClient
  const answer = (begin: (callback: Callback) => CallbackCall) =>
    new Promise((resolve) => {
      begin((error, value) => resolve(error === null ? plain(value) : [error.code, error.details]))
    })
  const values = (call: CallbackCall) =>
    new Promise((resolve) => {
      const all: unknown[] = []
      call.on('data', (value) => all.push(value))
      call.on('end', () => all.push('end'))
      call.on('error', ({ code, details }: ServiceError) => all.push([code, details]))
      call.on('status', ({ code }: ServiceError) => {
        // 'end' comes a turn later than the status if there was no error.
        setTimeout(() => resolve([...all, `status ${code}`]))
      })
    })
  let written = 0
  const sent = (call: CallbackCall, all: readonly object[]) => {
    for (const one of all) call.write(one, () => void written++)
    call.end()
    return call
  }
  const counted = [{ count: 2 }, { count: 3 }]
  return {
    asked: await answer((callback) => orders['ask']!({ id: 'a', count: 1 }, callback)),
    missing: await answer((callback) => orders['ask']!({ id: 'missing' }, callback)),
    counted: await answer((callback) => sent(orders['count']!(callback), counted)),
    failedCount: await answer((callback) => sent(orders['count']!(callback), [{ count: -2 }])),
    watched: await values(orders['watch']!({ id: 'w', count: 2 })),
    broken: await values(orders['watch']!({ id: 'breaks', count: 5 })),
    chat: await values(sent(orders['chat']!(), [{ id: 'a', count: 1 }])),
    failedChat: await values(sent(orders['chat']!(), [{ id: 'fail' }, { id: 'b' }])),
    written
  }
}

/** The result of `callsBack`. */
export const CALLED_BACK = {
  asked: { text: '<a>', count: 2 },
  missing: [5, 'nothing there'],
  counted: { text: 'sum', count: 5 },
  failedCount: [11, 'below zero'],
  watched: [{ text: 'w', count: 0 }, { text: 'w', count: 1 }, 'end', 'status 0'],
  broken: [{ text: 'breaks', count: 0 }, { text: 'breaks', count: 1 }, [15, 'broken'], 'end', 'status 15'],
  chat: [{ text: 'a?', count: 1 }, { text: 'a!', count: 1 }, 'end', 'status 0'],
  failedChat: [[3, 'bad query'], 'end', 'status 3'],
  written: 6
}
