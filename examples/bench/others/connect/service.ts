/** The service of `echo.proto` for Connect, created from its descriptor instead of generated code. */
import { createFileRegistry, type DescService, fromBinary } from '@bufbuild/protobuf'
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema
} from '@bufbuild/protobuf/wkt'
import { loadEchoProto } from '../echo-proto.ts'

/** @throws Error if `echo.proto` does not contain the service */
export function loadEchoService(): DescService {
  const { fileDescriptorProtos } = loadEchoProto()['bench.TextMessage'] as { fileDescriptorProtos: Buffer[] }
  const file = fileDescriptorProtos.map((bytes) => qualify(fromBinary(FileDescriptorProtoSchema, bytes)))
  const service = createFileRegistry({ $typeName: FileDescriptorSetSchema.typeName, file }).getService(
    'bench.Echo'
  )
  if (service === undefined) throw new Error('echo.proto has no service bench.Echo')
  return service
}

/** Adds the package to the types of fields, which the loader leaves as they are written. */
function qualify(file: FileDescriptorProto): FileDescriptorProto {
  for (const field of file.messageType.flatMap((message) => message.field)) {
    if (field.typeName !== '' && !field.typeName.startsWith('.')) {
      field.typeName = `.${file.package}.${field.typeName}`
    }
  }
  return file
}
