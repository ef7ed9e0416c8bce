/** The option `compression` of either end. */
import { atLeast, checkNames, OptionError } from '@elysia-microservices/transport/kit'

/** Which messages are sent compressed, with gzip. */
export interface GrpcCompressionOptions {
  /** Bytes from which on a message is compressed: shorter ones hardly become shorter. Default: 1,024. */
  readonly threshold?: number | undefined
}

const THRESHOLD = 1_024

/**
 * @returns bytes from which on a message is compressed; `Infinity`: none is
 * @throws {OptionError} an option has a wrong value or an unknown name
 */
export function compressionOptions(given: boolean | GrpcCompressionOptions | undefined): number {
  if (given === undefined || given === false) return Number.POSITIVE_INFINITY
  const path = 'options.compression'
  if (given !== true && (typeof given !== 'object' || given === null))
    throw OptionError.expected(path, 'true, false or { threshold }', given)
  const options = given === true ? {} : given
  checkNames(path, options, ['threshold'])
  const { threshold = THRESHOLD } = options
  atLeast(0, `${path}.threshold`, threshold)
  return threshold
}
