/**
 * The transport inside one process: for tests of services without ports. What goes over it is encoded and decoded
 * all the same, so that a value which no wire could carry is noticed here too.
 */
import { hasCodec, knownMimeTypes, mimeTypeOfCodec } from '../codec/codecs.ts'
import { OptionError } from '../errors/index.ts'
import { withDefaults } from '../options.ts'
import type { Transport } from '../transport.ts'
import { MemoryClient } from './client.ts'
import { MemoryHub } from './hub.ts'
import { MemoryServer } from './server.ts'

/** Options of `memory()`. */
export interface MemoryOptions {
  /** How data is encoded on its way: `'json'`, `'msgpack'`, `'bytes'` or a MIME type. Default: `'json'`. */
  readonly codec?: string | undefined
}

/**
 * A transport inside this process: services and clients that are given the same value reach each other. Of several
 * services of one name, each request and each event goes to one; an event goes to one of each name.
 * @throws {OptionError} an option is not what it must be
 */
export function memory(options?: MemoryOptions): Transport {
  const { codec } = withDefaults('options', options, { codec: 'json' })
  const mimeType = mimeTypeOfCodec(codec)
  if (!hasCodec(mimeType))
    throw OptionError.expected('options.codec', `one of ${knownMimeTypes().join(', ')}`, codec)
  const hub = new MemoryHub(mimeType)
  return {
    name: 'memory',
    server: (context) => new MemoryServer(hub, context),
    client: (context) => new MemoryClient(hub, context)
  }
}
