/**
 * Descriptors of what protobufjs has parsed. Its own extension for descriptors leaves out imports, and gives types names
 * that depend on where they are used.
 */
import { create } from '@bufbuild/protobuf'
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  Edition,
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  FeatureSet_EnumType,
  FeatureSet_FieldPresence,
  FeatureSet_MessageEncoding,
  FeatureSet_RepeatedFieldEncoding,
  FeatureSet_Utf8Validation,
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
  FieldOptions_JSType,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  MethodOptions_IdempotencyLevel,
  type ServiceDescriptorProto,
  ServiceDescriptorProtoSchema,
  FieldDescriptorProto_Type as Type
} from '@bufbuild/protobuf/wkt'
import type protobufjs from 'protobufjs'
import { KNOWN_TYPES } from './known-files.ts'

type Protobufjs = typeof protobufjs

/** A file that protobufjs has parsed. */
export interface Parsed {
  /** The name under which others import it. */
  readonly name: string
  readonly package: string | undefined
  readonly imports: readonly string[]
  /** `proto2`, `proto3`, or an edition such as `2023`. */
  readonly syntax: string
}

/** The features of protobuf's editions, which protobufjs resolves for older files, too. */
interface Featured {
  readonly _features: {
    readonly enum_type?: string
    readonly field_presence?: string
    readonly message_encoding?: string
    readonly repeated_field_encoding?: string
    readonly utf8_validation?: string
  }
}

const EDITIONS: Readonly<Record<string, Edition>> = {
  '2023': Edition.EDITION_2023,
  '2024': Edition.EDITION_2024,
  '2026': Edition.EDITION_2026
}
const UNPACKED: ReadonlySet<string> = new Set(['string', 'bytes'])

/** @param root all files, resolved */
export function descriptorOf(file: Parsed, root: protobufjs.Root, protobuf: Protobufjs): FileDescriptorProto {
  return new FileWriter(file, protobuf).write(root)
}

class FileWriter {
  readonly #file: Parsed
  readonly #protobuf: Protobufjs
  readonly #uses = new Set<string>()
  readonly #isEdition: boolean

  constructor(file: Parsed, protobuf: Protobufjs) {
    this.#file = file
    this.#protobuf = protobuf
    this.#isEdition = file.syntax in EDITIONS
  }

  write(root: protobufjs.Root): FileDescriptorProto {
    const { name, package: scope = '', imports, syntax } = this.#file
    const space = scope === '' ? root : root.lookup(scope)
    const own = [...((space as protobufjs.NamespaceBase | null)?.nestedArray ?? [])].filter(
      ({ filename }) => filename === name
    )
    const messageType = own
      .filter((one) => one instanceof this.#protobuf.Type)
      .map((one) => this.#message(one))
    const enumType = own.filter((one) => one instanceof this.#protobuf.Enum).map((one) => this.#enum(one))
    const service = own
      .filter((one) => one instanceof this.#protobuf.Service)
      .map((one) => this.#service(one))
    return create(FileDescriptorProtoSchema, {
      name,
      package: scope,
      dependency: [...new Set([...imports, ...this.#uses])],
      messageType,
      enumType,
      service,
      ...(this.#isEdition ? { syntax: 'editions', edition: EDITIONS[syntax] as Edition } : { syntax })
    })
  }

  #message(type: protobufjs.Type): DescriptorProto {
    const { Type, Enum } = this.#protobuf
    // The oneofs of optional fields in proto3 come behind those of the user.
    const isOptional = ({ fieldsArray }: protobufjs.OneOf) =>
      fieldsArray[0]?.options?.['proto3_optional'] === true
    const oneofs = [...type.oneofsArray].sort((a, b) => Number(isOptional(a)) - Number(isOptional(b)))
    const fields = type.fieldsArray.filter(({ declaringField }) => !declaringField)
    return create(DescriptorProtoSchema, {
      name: type.name,
      field: fields.map((field) => this.#field(field, oneofs)),
      oneofDecl: oneofs.map(({ name }) => ({ name })),
      nestedType: [
        ...fields
          .filter((field) => field.map)
          .map((field) => this.#entry(field as unknown as protobufjs.MapField)),
        ...type.nestedArray.filter((one) => one instanceof Type).map((one) => this.#message(one))
      ],
      enumType: type.nestedArray.filter((one) => one instanceof Enum).map((one) => this.#enum(one)),
      ...reservedOf(type.reserved, 1),
      options: deprecatedOf(type)
    })
  }

  #field(field: protobufjs.FieldBase, oneofs: readonly protobufjs.OneOf[]): FieldDescriptorProto {
    const { options = {}, partOf, map, repeated, id } = field
    const { jstype, default: preset } = options as { readonly jstype?: string; readonly default?: unknown }
    const isRequired =
      featuresOf(field).field_presence === 'LEGACY_REQUIRED' && this.#file.syntax === 'proto2'
    const name = nameOf(field)
    return create(FieldDescriptorProtoSchema, {
      name,
      number: id,
      jsonName: (field as { jsonName?: string }).jsonName ?? '',
      label: map || repeated ? Label.REPEATED : isRequired ? Label.REQUIRED : Label.OPTIONAL,
      ...(map
        ? {
            type: Type.MESSAGE,
            typeName: `${this.#nameOf(field.parent as protobufjs.Type)}.${entryName(name)}`
          }
        : this.#type(field)),
      ...(partOf && { oneofIndex: oneofs.indexOf(partOf) }),
      ...(options['proto3_optional'] === true && { proto3Optional: true }),
      ...(preset !== undefined && { defaultValue: presetText(preset, field.type === 'bytes') }),
      options: {
        ...deprecatedOf(field),
        ...(jstype !== undefined && { jstype: FieldOptions_JSType[jstype as 'JS_STRING'] }),
        ...this.#encoding(field)
      }
    })
  }

  /** How a field is written, where its file could say something else. */
  #encoding(field: protobufjs.FieldBase) {
    const isPackable =
      field.repeated && !UNPACKED.has(field.type) && !(field.resolvedType instanceof this.#protobuf.Type)
    const features = featuresOf(field)
    const isPacked = features.repeated_field_encoding === 'PACKED'
    if (!this.#isEdition) return isPackable ? { packed: isPacked } : {}
    const { field_presence: presence, message_encoding: encoding, utf8_validation: utf8 } = features
    return {
      features: {
        fieldPresence: FeatureSet_FieldPresence[(presence ?? 'EXPLICIT') as 'EXPLICIT'],
        messageEncoding: FeatureSet_MessageEncoding[(encoding ?? 'LENGTH_PREFIXED') as 'DELIMITED'],
        repeatedFieldEncoding: isPacked
          ? FeatureSet_RepeatedFieldEncoding.PACKED
          : FeatureSet_RepeatedFieldEncoding.EXPANDED,
        utf8Validation: FeatureSet_Utf8Validation[(utf8 ?? 'VERIFY') as 'VERIFY']
      }
    }
  }

  #type(field: protobufjs.FieldBase) {
    const { type, resolvedType } = field
    if (resolvedType === null) return { type: Type[type.toUpperCase() as 'STRING'] }
    const typeName = this.#nameOf(resolvedType)
    if (resolvedType instanceof this.#protobuf.Enum) return { type: Type.ENUM, typeName }
    const isGroup = !this.#isEdition && featuresOf(field).message_encoding === 'DELIMITED'
    return { type: isGroup ? Type.GROUP : Type.MESSAGE, typeName }
  }

  /** The full name of a type. The file in which it is becomes an import. */
  #nameOf(type: protobufjs.ReflectionObject): string {
    const { fullName } = type
    const file = type.filename ?? KNOWN_TYPES.get(fullName.slice(1))
    if (file !== undefined && file !== null && file !== this.#file.name) this.#uses.add(file)
    return fullName
  }

  #entry(field: protobufjs.MapField): DescriptorProto {
    return create(DescriptorProtoSchema, {
      name: entryName(nameOf(field)),
      field: [
        {
          name: 'key',
          jsonName: 'key',
          number: 1,
          label: Label.OPTIONAL,
          type: Type[field.keyType.toUpperCase() as 'STRING']
        },
        { name: 'value', jsonName: 'value', number: 2, label: Label.OPTIONAL, ...this.#type(field) }
      ],
      options: { mapEntry: true }
    })
  }

  #enum(type: protobufjs.Enum): EnumDescriptorProto {
    const closed = featuresOf(type).enum_type === 'CLOSED'
    return create(EnumDescriptorProtoSchema, {
      name: type.name,
      value: Object.entries(type.values).map(([name, number]) => ({ name, number })),
      ...reservedOf(type.reserved as (number[] | string)[] | undefined, 0),
      options: {
        ...deprecatedOf(type),
        ...(type.options?.['allow_alias'] === true && { allowAlias: true }),
        ...(this.#isEdition && {
          features: { enumType: closed ? FeatureSet_EnumType.CLOSED : FeatureSet_EnumType.OPEN }
        })
      }
    })
  }

  #service(service: protobufjs.Service): ServiceDescriptorProto {
    return create(ServiceDescriptorProtoSchema, {
      name: service.name,
      method: service.methodsArray.map((method) => {
        method.resolve()
        const level = method.options?.['idempotency_level'] as 'IDEMPOTENT' | undefined
        return {
          name: method.name,
          inputType: this.#nameOf(method.resolvedRequestType as protobufjs.Type),
          outputType: this.#nameOf(method.resolvedResponseType as protobufjs.Type),
          clientStreaming: method.requestStream === true,
          serverStreaming: method.responseStream === true,
          options: {
            ...deprecatedOf(method),
            ...(level !== undefined && { idempotencyLevel: MethodOptions_IdempotencyLevel[level] })
          }
        }
      })
    })
  }
}

function nameOf(field: protobufjs.FieldBase): string {
  return (field as { protoName?: string }).protoName ?? field.name
}

/** The name that protoc gives to the entries of a map. */
function entryName(field: string): string {
  return `${field.replaceAll(/(?:^|_)([a-z0-9]?)/g, (_, letter: string) => letter.toUpperCase())}Entry`
}

function featuresOf(object: protobufjs.ReflectionObject): Featured['_features'] {
  return (object as unknown as Featured)._features
}

function deprecatedOf({ options }: protobufjs.ReflectionObject) {
  return options?.['deprecated'] === true ? { deprecated: true } : {}
}

/** @param beyond 1 if the end of a range is not part of it, as in messages; 0 for enums */
function reservedOf(reserved: readonly (number[] | string)[] | undefined, beyond: 0 | 1) {
  return {
    reservedName: (reserved ?? []).filter((one) => typeof one === 'string'),
    reservedRange: (reserved ?? [])
      .filter((one) => typeof one !== 'string')
      .map(([start = 0, end = 0]) => ({ start, end: end + beyond }))
  }
}

/** A default as descriptors have it. */
function presetText(value: unknown, isBytes: boolean): string {
  if (value === Number.POSITIVE_INFINITY) return 'inf'
  if (value === Number.NEGATIVE_INFINITY) return '-inf'
  if (Number.isNaN(value)) return 'nan'
  const text = String(value)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: bytes that are no text are escaped
  const special = /[\\"'\u0000-\u001f\u007f-\uffff]/g
  return isBytes
    ? text.replaceAll(special, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`)
    : text
}
