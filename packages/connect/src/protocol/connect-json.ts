/** Failures and ends of streams in Connect's JSON. */
import { type CallFailure, type HeaderList, toBase64 } from '@elysia-microservices/protobuf/rpc'

const utf8 = new TextEncoder()

/** A failure as Connect writes it: the body of an answer with one value, or a part of the end of a stream. */
export function failureJson({ code, message, details }: CallFailure): object {
  return {
    code,
    ...(message !== '' && { message }),
    ...(details.length > 0 && {
      details: details.map(({ type, value, debug }) => ({ type, value: toBase64(value), debug }))
    })
  }
}

/** The data of the last envelope of a stream: the failure if there is one, and trailers. */
export function endOfStream(trailers: HeaderList, failure?: CallFailure): Uint8Array {
  const metadata = new Map<string, string[]>()
  for (const [name, value] of trailers) {
    const values = metadata.get(name)
    if (values === undefined) metadata.set(name, [value])
    else values.push(value)
  }
  const end = {
    ...(failure && { error: failureJson(failure) }),
    ...(metadata.size > 0 && { metadata: Object.fromEntries(metadata) })
  }
  return utf8.encode(JSON.stringify(end))
}
