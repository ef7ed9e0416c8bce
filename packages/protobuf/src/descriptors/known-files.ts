/** Google's own files, which every compiler of protobuf has. */
import type { DescFile } from '@bufbuild/protobuf'
import {
  type FileDescriptorProto,
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers
} from '@bufbuild/protobuf/wkt'

const FILES: readonly DescFile[] = [
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers
]

/** Google's files by the name under which they are imported. */
export const KNOWN_FILES: ReadonlyMap<string, FileDescriptorProto> = new Map(
  FILES.map(({ proto }) => [proto.name, proto])
)

/** The file in which one of Google's types is, by the full name of the type. */
export const KNOWN_TYPES: ReadonlyMap<string, string> = new Map(
  FILES.flatMap(({ proto, messages, enums }) =>
    [...messages, ...enums].map(({ typeName }) => [typeName, proto.name] as const)
  )
)
