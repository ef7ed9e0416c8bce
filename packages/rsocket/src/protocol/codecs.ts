/** The codecs of the data of requests and answers that name their own MIME types. */
import { type Codec, openCodec, ProtocolError } from '@elysia-microservices/transport/kit'

/**
 * The codec of the answer: the codec of the request, unless the caller accepts only other types.
 * @param own the codec of the connection
 */
export function answerCodec(own: Codec, requestCodec: Codec, acceptMimeTypes: readonly string[]): Codec {
  if (acceptMimeTypes.includes(requestCodec.mimeType)) return requestCodec
  for (const accepted of acceptMimeTypes) {
    const codec = findCodec(own, accepted)
    if (codec !== undefined) return codec
  }
  return requestCodec
}

/**
 * The codec for data of a MIME type.
 * @throws {ProtocolError} there is none
 */
export function codecOf(own: Codec, mimeType: string): Codec {
  const codec = findCodec(own, mimeType)
  if (codec === undefined) throw new ProtocolError(`There is no codec for data of type ${mimeType}`)
  return codec
}

function findCodec(own: Codec, mimeType: string): Codec | undefined {
  return mimeType === own.mimeType ? own : openCodec(mimeType)
}
