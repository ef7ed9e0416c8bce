/** The names of fields and oneofs in a shape. */
import type { DescField, DescOneof } from '@bufbuild/protobuf'
import { protoCamelCase } from '@bufbuild/protobuf/reflect'
import type { Shapes } from '../options/shapes.ts'

/** The name of a field as a property. */
export function fieldName({ name, jsonName }: DescField, { names }: Shapes): string {
  if (typeof names === 'function') return names(name)
  return names === 'proto' ? name : jsonName
}

/** The name of a oneof as a property. */
export function oneofName({ name }: DescOneof, { names }: Shapes): string {
  if (typeof names === 'function') return names(name)
  return names === 'proto' ? name : protoCamelCase(name)
}
