/** Writes a file model as a descriptor, and as hints for the codecs of its messages. */
import { create } from '@bufbuild/protobuf'
import { protoCamelCase } from '@bufbuild/protobuf/reflect'
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  MethodOptions_IdempotencyLevel,
  FieldDescriptorProto_Type as ProtoType
} from '@bufbuild/protobuf/wkt'
import type { Hints } from '../codec/hints.ts'
import { pascalCase, zeroName } from '../words.ts'
import { type FieldModel, type FileModel, importsOf, type MessageModel, type Type } from './model.ts'
import { typeText } from './numbers.ts'

const SCALARS = {
  double: ProtoType.DOUBLE,
  int32: ProtoType.INT32,
  int64: ProtoType.INT64,
  bool: ProtoType.BOOL,
  string: ProtoType.STRING
} as const

/** @param name the name under which others import the file */
export function descriptorOf(file: FileModel, name: string): FileDescriptorProto {
  const full = (type: Type) =>
    type.kind === 'google' ? `.${type.name}` : `.${file.package}.${typeText(type)}`
  return create(FileDescriptorProtoSchema, {
    name,
    package: file.package,
    syntax: 'proto3',
    dependency: importsOf(file),
    messageType: file.messages.map((message) => messageOf(message, file.package, full)),
    enumType: file.enums.map(({ name: own, values, reserved }) => ({
      name: own,
      value: [
        { name: zeroName(own), number: 0 },
        ...values.map((value) => ({ name: value.name, number: value.number }))
      ],
      reservedName: [...reserved.names],
      reservedRange: reserved.numbers.map((number) => ({ start: number, end: number }))
    })),
    service: [
      {
        name: file.service,
        method: file.methods.map((method) => ({
          name: method.name,
          inputType: full(method.input),
          outputType: full(method.output),
          clientStreaming: method.clientStreams,
          serverStreaming: method.serverStreams,
          ...(method.isIdempotent && {
            options: { idempotencyLevel: MethodOptions_IdempotencyLevel.IDEMPOTENT }
          })
        }))
      }
    ]
  })
}

function messageOf({ name, fields, reserved }: MessageModel, scope: string, full: (type: Type) => string) {
  const optional = fields.filter(({ isOptional }) => isOptional)
  const maps = fields.filter(({ type }) => type.kind === 'map')
  return {
    name,
    field: fields.map((field) => ({
      name: field.name,
      number: field.number,
      jsonName: field.jsonName ?? protoCamelCase(field.name),
      label: field.type.kind === 'list' || field.type.kind === 'map' ? Label.REPEATED : Label.OPTIONAL,
      ...(field.type.kind === 'map'
        ? { type: ProtoType.MESSAGE, typeName: `.${scope}.${name}.${entryName(field)}` }
        : typeOf(field.type.kind === 'list' ? field.type.item : field.type, full)),
      ...(field.isOptional && { proto3Optional: true, oneofIndex: optional.indexOf(field) })
    })),
    oneofDecl: optional.map((field) => ({ name: `_${field.name}` })),
    nestedType: maps.map((field) => ({
      name: entryName(field),
      options: { mapEntry: true },
      field: [
        { name: 'key', jsonName: 'key', number: 1, label: Label.OPTIONAL, type: ProtoType.STRING },
        {
          name: 'value',
          jsonName: 'value',
          number: 2,
          label: Label.OPTIONAL,
          ...typeOf((field.type as { readonly item: Type }).item, full)
        }
      ]
    })),
    reservedName: [...reserved.names],
    reservedRange: reserved.numbers.map((number) => ({ start: number, end: number + 1 }))
  }
}

function typeOf(type: Type, full: (type: Type) => string) {
  if (type.kind === 'scalar') return { type: SCALARS[type.name] }
  return { type: type.kind === 'enum' ? ProtoType.ENUM : ProtoType.MESSAGE, typeName: full(type) }
}

function entryName({ name }: FieldModel): string {
  return `${pascalCase(name)}Entry`
}

/** The rules for codecs that the descriptor cannot say. */
export function hintsOf(file: FileModel): Hints {
  const full = (name: string) => `${file.package}.${name}`
  return {
    literals: new Map(
      file.enums.map(({ name, values }) => [
        full(name),
        new Map(values.map((one) => [one.number, one.literal]))
      ])
    ),
    wrappers: new Set(file.messages.filter(({ isWrapper }) => isWrapper).map(({ name }) => full(name))),
    nullable: new Set(
      file.messages.flatMap(({ name, fields }) =>
        fields.filter(({ isNullable }) => isNullable).map((field) => `${full(name)}.${field.name}`)
      )
    )
  }
}
