/** Names of compressions in headers. Besides `identity`, which is none, only gzip is supported. */
import { CallFailure } from './failure.ts'

/** The supported compressions, for headers that tell clients. */
export const SUPPORTED = 'gzip'

/**
 * Whether a request is compressed.
 * @param name the header that names the compression; `null` if there is none
 * @throws {CallFailure} `unimplemented`: it is compressed in another way than gzip
 */
export function isGzip(name: string | null): boolean {
  if (name === null || name === '' || name === 'identity') return false
  if (name === SUPPORTED) return true
  throw new CallFailure(
    'unimplemented',
    `The compression '${name.slice(0, 32)}' is not supported; supported are ${SUPPORTED}, identity`
  )
}

/** Whether a client takes answers in gzip. @param accepted the header that lists what it accepts */
export function acceptsGzip(accepted: string | null): boolean {
  return (accepted ?? '').split(',').some((one) => {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    return name === SUPPORTED && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })
}
