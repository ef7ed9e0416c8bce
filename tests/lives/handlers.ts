/** The service of a life: handlers of every kind, which write down what they do. */
import { type Message, type Microservice, microservice, RetryLater } from 'elysia-microservices'
import { callsTo } from 'elysia-microservices/client'
import { interval, map, range, take } from 'rxjs'
import type { Place } from './carrier.ts'
import { REDRIVES, SOCKETS, storeOf } from './carriers.ts'
import type { Ledger } from './ledger.ts'
import type { Config, Failing, Options } from './plan.ts'
import { Running } from './running.ts'
import { wait } from './world.ts'

/** Attempts after which a durable event is a dead letter, if dead letters can be given back. */
const ATTEMPTS = 3
/** The error of durable handlers, which their dead letters tell. */
export const FAILED = 'A durable handler of the test has failed'
/** Most values of the sources that wait, and of an Observable, which cannot be slowed. */
export const MOST_VALUES = {
  /** A handler without a stream gives its answer. */
  echo: 1,
  count: Infinity,
  ticks: 500,
  observable: 200
} as const

/** The data of calls and events. */
export interface Payload {
  readonly id: string
  readonly takes: number
  readonly values: number
  readonly order: number
  readonly key: string
  readonly failures: number
  readonly failing: Failing
  readonly fill?: string
}

export interface Service extends Pick<ReturnType<typeof serviceOf>, 'stop' | 'stats'> {
  listen(): Promise<unknown>
}

/** The answer of a request. */
export const answerTo = (id: string, size: number) => (size === 0 ? id : `${id}${textOf(size)}`)

const texts = new Map<number, string>()

/** A text of some size; it is made once, because copying takes most of the time of some lives. */
export function textOf(size: number): string {
  const text = texts.get(size) ?? 'x'.repeat(size)
  texts.set(size, text)
  return text
}

const answer = ({ id, fill }: Payload) => answerTo(id, fill?.length ?? 0)

/** The service of a client, which its own service calls back. */
export function pageOf(ledger: Ledger) {
  return microservice({ logger: ledger.logger }).message('echo', ({ data }: Message<Payload>) => answer(data))
}

/** The names of the services, which are those of their groups. */
export function groupsOf({ hasOther, suffix = '' }: Config): readonly [string, ...string[]] {
  return hasOther ? [`world${suffix}`, `other${suffix}`] : [`world${suffix}`]
}

/** Looks at what comes to a handler: the headers of its own call or event. */
function arrivalOf({ carrier }: Config, ledger: Ledger): (message: Message<Payload>) => void {
  return ({ data: { id }, headers }) => {
    // Nest's wire has none.
    if (carrier !== 'nest' || ledger.published.has(id)) ledger.came(id, headers)
  }
}

/** A service of another name than the world's, which handles the same events, and shares a request. */
export function otherOf(place: Place, config: Config, ledger: Ledger) {
  const [, name = ''] = groupsOf(config)
  const { transport, store } = place
  const came = arrivalOf(config, ledger)
  const service = microservice({
    ...{ transport, store },
    name,
    logger: ledger.logger
  }).event('noted', (message: Message<Payload>) => {
    came(message)
    ledger.did(ledger.emitted, name, message.data.id)
  })
  // RabbitMQ and Kafka have a queue of requests for each name.
  if (config.carrier !== 'rabbitmq' && config.carrier !== 'kafka')
    service.message('echo', ({ data }: Message<Payload>) => {
      ledger.ran(data.id)
      return answer(data)
    })
  addDurable(service, place, name, config, ledger, {}, config.isLate === true && config.startsNew === true)
  return service
}

export function serviceOf(place: Place, config: Config, ledger: Ledger, options: Partial<Options> = {}) {
  const { logger } = ledger
  const [name] = groupsOf(config)
  const { inFlight = config.inFlight } = options
  // Those whose callers have left count, too.
  const requests = new Running('requests', inFlight, ledger)
  const { transport, store } = place
  const came = arrivalOf(config, ledger)
  const service = microservice({ transport, store, name, logger })
    .message('echo', (message: Message<Payload>) => {
      came(message)
      ledger.ran(message.data.id)
      return answer(message.data)
    })
    .message('wait', (message: Message<Payload>) =>
      requests.during(async () => {
        const { data, remaining } = message
        came(message)
        ledger.ran(data.id)
        // Over an engine a call may wait for its turn.
        if (SOCKETS.has(config.carrier)) ledger.arrives(data.id, remaining)
        await wait(data.takes)
        return answer(data)
      })
    )
    .message('back', async ({ data, peer }: Message<Payload>) => {
      ledger.ran(data.id)
      return callsTo(peer).request('echo', data)
    })
    .message('fail', async ({ data }: Message<Payload>) => {
      ledger.ran(data.id)
      if (data.takes > 10) await wait(data.takes)
      throw new TypeError('A handler of the test has failed')
    })
    .message('never', ({ data, signal }: Message<Payload>) => {
      ledger.ran(data.id)
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), {
          once: true
        })
      )
    })
    // It does not look at its signal: the sink that takes its values must stop.
    .message('count', function* ({ data }: Message<Payload>) {
      ledger.ran(data.id)
      for (let n = 0; n < data.values; n++) {
        if (!ledger.pulls('a generator')) return
        yield n
      }
    })
    .message('ticks', async function* ({ data, signal }: Message<Payload>) {
      ledger.ran(data.id)
      for (let n = 0; n < Math.min(data.values, MOST_VALUES.ticks) && !signal.aborted; n++) {
        if (data.takes > 0 || n % 50 === 0) await wait(data.takes)
        if (!ledger.pulls('an async generator')) return
        yield n
      }
    })
    .message('observable', ({ data }: Message<Payload>) => {
      ledger.ran(data.id)
      const values = Math.min(data.values, MOST_VALUES.observable)
      return data.takes > 0 ? interval(data.takes).pipe(take(values)) : range(0, values).pipe(map((n) => n))
    })
    .message('total', async ({ data }: Message<AsyncIterable<{ id: string; n: number }>>) => {
      let values = 0
      for await (const { id, n } of data) {
        if (values === 0) ledger.ran(id)
        if (n !== values) ledger.breaks(`channel ${id} has received ${n} in place of ${values}`)
        values++
      }
      return values
    })
    .message('relay', async function* ({ data }: Message<AsyncIterable<{ id: string; n: number }>>) {
      let values = 0
      for await (const { id, n } of data) {
        if (values === 0) ledger.ran(id)
        if (n !== values) ledger.breaks(`channel ${id} has received ${n} in place of ${values}`)
        values++
        yield n
      }
    })
    .event('noted', async (message: Message<Payload>) => {
      const { data } = message
      // Strangers send events without data.
      if (data?.id === undefined) return
      came(message)
      ledger.did(ledger.emitted, name, data.id)
      if (data.takes > 0) await wait(data.takes)
    })
  addDurable(service, place, name, config, ledger, options)
  return service
}

/** Adds the durable handlers, or only the first of them, if the carrier stores events. */
function addDurable(
  service: object,
  { transact, crash }: Place,
  group: string,
  config: Config,
  ledger: Ledger,
  { concurrency = 16, attempts = ATTEMPTS, files = true }: Partial<Options> = {},
  startsNew = false
): void {
  const store = storeOf(config)
  if (store === undefined) return
  const { ordered, suffix, every, begins, transactional = false, maxAge } = config
  const durable = {
    ordered,
    concurrency,
    // Groups of a real server would begin with the events of earlier lives.
    start: startsNew || store === 'rabbitmq' || suffix !== undefined ? ('new' as const) : ('all' as const),
    retry: {
      attempts: REDRIVES.has(store) ? attempts : 20,
      minDelay: 50,
      maxDelay: 1_000
    }
  }
  if (every)
    (service as Microservice).event(
      'recurring',
      ({ delivery }) => ledger.recurs(group, delivery?.id as string),
      {
        durable: {
          every: { cron: '*/10 * * * * *', ...(begins !== undefined && { timeZone: 'Europe/Berlin' }) }
        }
      }
    )
  const came = arrivalOf(config, ledger)
  for (const pattern of files ? ['kept', 'filed'] : ['kept']) {
    const running = new Running(`handlers of ${pattern}`, concurrency, ledger)
    const isTransactional = transactional && transact !== undefined && pattern === 'filed'
    const handle = async (message: Message<Payload>) => {
      const { data, delivery } = message
      came(message)
      const runs = ledger.begins(group, data.id, delivery, ordered)
      const isFailing = runs <= data.failures
      if (data.takes > 0) await wait(data.takes)
      if (isFailing && data.failing === 'crash' && crash !== undefined) {
        crash()
        return new Promise<void>(() => {})
      }
      // Every configuration allows a second attempt, but an event that is too old by then has none.
      ledger.ends(group, data.id, ordered, isFailing && runs === 1 && maxAge === undefined)
      const error = data.failing === 'later' ? new RetryLater(50) : new RangeError(FAILED)
      const done = () => ledger.handled(group, data.id)
      // In a transaction, half of the failures come when something was written already.
      if (isFailing && !(isTransactional && runs % 2 === 1)) throw error
      if (!isTransactional) return done()
      ledger.isExactly(data.id)
      await transact(delivery, (committed) => {
        committed(done)
        if (isFailing) throw error
      })
    }
    ;(service as Microservice).event(
      pattern,
      (message: Message<Payload>) => running.during(() => handle(message)),
      { durable: { ...durable, ...(isTransactional && { transactional: true }) } }
    )
  }
}
