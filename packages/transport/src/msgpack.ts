/** Registers the MessagePack codec, `'msgpack'`, for every transport of this program. */
import { registerCodec } from './codec/codecs.ts'
import { accelerate } from './codec/msgpack/packing.ts'
import { msgpackCodec } from './codec/msgpack/plain.ts'

registerCodec('msgpack', msgpackCodec.mimeType, () => {
  accelerate()
  return msgpackCodec
})
