/** The compressions that are read. grpc: doc/compression.md */

/** Their names, as `grpc-accept-encoding` has them. */
export const ACCEPTED = 'gzip,identity'

/** Whether messages of an encoding can be read. */
export function isReadable(encoding: string): boolean {
  return encoding === 'gzip' || encoding === 'identity'
}
