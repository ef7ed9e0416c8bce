/** What a page posts: JSON of a bounded size. */

/** Bytes of what a page may send. */
export const MAX_BODY = 1024 * 1024

/**
 * Reads a body of at most so many bytes. A page of another origin cannot send this type without asking first, which is answered with no.
 * @throws {TypeError} it is no JSON, or too large
 */
export async function postedJson(request: Request, most = MAX_BODY): Promise<unknown> {
  if (!/^application\/json\b/.test(request.headers.get('content-type') ?? ''))
    throw new TypeError('The body must be application/json')
  return parsed(await textOf(request, most))
}

/** @throws {TypeError} it is no JSON */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new TypeError('The body is not JSON')
  }
}

/**
 * A body, of which reading stops where it becomes too long, whatever its length was said to be.
 * @throws {TypeError} it has more bytes
 */
export async function* chunksOf({ body }: Request, most: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > most) throw new TypeError(`The body is longer than ${most} bytes`)
    yield chunk
  }
}

async function textOf(request: Request, most: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunksOf(request, most)) text += decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}
