/** `loadProtoSync()`, for programs that cannot wait, such as NestJS's clients: it loads the reader of `.proto` files at once. */
import protobufjs from 'protobufjs'
import { readFiles } from './descriptors/read-files.ts'
import { checkedFiles, OPTION, type ProtoFiles } from './load-proto.ts'
import type { Proto } from './proto.ts'
import { ProtoFilesOf } from './proto-files.ts'

/**
 * The same as `loadProto`, without a promise.
 * @throws {OptionError} an option is wrong; a file is missing or wrong, and the message has its path and line
 */
export function loadProtoSync(options: ProtoFiles): Proto {
  const { paths, includeDirs, shapes } = checkedFiles(options)
  const read = readFiles(paths, includeDirs, protobufjs)
  return new ProtoFilesOf(read.files, read.asked, shapes, OPTION)
}
