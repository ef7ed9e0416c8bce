/**
 * The transport inside one process, for tests of services without ports. Values are encoded and decoded nevertheless,
 * so that a value which no wire can carry fails here, too.
 */
import { type Carrying, type CodecName, codecsInWords, hasCodec, mimeTypeOfCodec } from '../codec/codecs.ts'
import { type Clock, systemClock } from '../durable/clock.ts'
import { OptionError } from '../errors/index.ts'
import { withDefaults } from '../options.ts'
import { STORES_EVERYTHING, type StoringTraits, type StoringTransport } from '../transport.ts'
import { MemoryClient } from './client.ts'
import { MemoryHub } from './hub.ts'
import { MemoryServer } from './server.ts'
import { MemoryStoreClient, MemoryStoreServer } from './store-ends.ts'

/** Options of `memory()`. */
export interface MemoryOptions<Codec extends CodecName = CodecName> {
  /** The codec of the data: `'json'`, `'shapes'`, `'msgpack'`, `'bytes'` or a MIME type. Default: `'json'`. */
  readonly codec?: Codec | undefined
  /**
   * The clock for the retries of durable events: a `ManualClock` in tests that do not want to wait. Default: the
   * system's clock.
   */
  readonly clock?: Clock | undefined
}

/** The transport inside one process. */
export interface MemoryTransport<Codec extends CodecName = 'json'>
  extends StoringTransport,
    Carrying<Codec> {}

/** A function, so that pages, which have no such transport, leave the traits out. */
const traitsOfMemory = (): StoringTraits => ({
  wildcards: false,
  hearsNobody: true,
  shares: 'engine',
  headers: true,
  channels: true,
  answerHeaders: true,
  stores: { ...STORES_EVERYTHING, future: true, backlog: 'all' }
})

/**
 * Makes a transport inside this process: services and clients that get the same value reach each other. If several
 * services have the same name, each request goes to one of them; an event goes to one service of each name. Durable
 * events are stored as long as the value exists.
 * @throws {OptionError} an option is wrong
 * @example
 * ```ts
 * import { memory, microservice } from 'elysia-microservices'
 * import { connect } from 'elysia-microservices/client'
 *
 * const transport = memory()
 * const service = microservice({ transport }).message('ping', () => 'pong')
 * await service.listen()
 * console.log(await connect<typeof service>({ transport }).request('ping')) // pong
 * ```
 */
export function memory<const Codec extends CodecName = 'json'>(
  options?: MemoryOptions<Codec>
): MemoryTransport<Codec> {
  const { codec, clock } = withDefaults('options', options, {
    codec: 'json' as CodecName,
    clock: systemClock
  })
  const mimeType = mimeTypeOfCodec(codec)
  if (!hasCodec(mimeType)) throw OptionError.expected('options.codec', codecsInWords(codec), codec)
  if (typeof clock.now !== 'function' || typeof clock.after !== 'function')
    throw OptionError.expected('options.clock', 'a clock, such as new ManualClock()', clock)
  const hub = new MemoryHub(mimeType, clock)
  const traits = traitsOfMemory()
  return {
    name: 'memory',
    traits,
    store: {
      name: 'memory',
      stores: traits.stores,
      server: (context) => new MemoryStoreServer(hub, context),
      client: () => new MemoryStoreClient(hub)
    },
    server: (context) => new MemoryServer(hub, context),
    client: (context) => new MemoryClient(hub, context)
  }
}
