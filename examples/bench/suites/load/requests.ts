/** The requests of a workload as bytes. */
import type { Asked } from '../workloads.ts'

export function requestBytes({ method, path, headers, body }: Asked, host: string, port: number): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}:${port}`,
    ...Object.entries(headers ?? {}).map((header) => header.join(': ')),
    ...(body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`])
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

/** The number of answers that report that nothing was found, if all answers are right. */
export const missesIn = (asked: readonly Asked[], completed: number): number =>
  (completed * asked.filter(({ status }) => status >= 400).length) / asked.length
