/** Which JavaScript value a protobuf value becomes. Encoding accepts all forms, whatever the shapes are. */

/**
 * How values of protobuf arrive. In every shape a message is a plain object, `repeated` is an array, a map is a plain
 * object, 32-bit numbers and floats are numbers, and fields that the `.proto` does not know are dropped.
 */
export interface ProtoShapes {
  /**
   * Names of fields: `'camelCase'` as protobuf's JSON has them (`json_name`), `'proto'` as the file, or a function of the
   * name in the file. Default: `'camelCase'`.
   */
  readonly names?: 'camelCase' | 'proto' | ((name: string) => string) | undefined
  /**
   * 64-bit integers. `'number'` fails if the value is beyond `Number.MAX_SAFE_INTEGER`; a function makes a value of your
   * own, such as a Long. A field with the option `jstype` has what that says. Default: `'bigint'`.
   */
  readonly int64?:
    | 'bigint'
    | 'number'
    | 'string'
    | ((value: bigint, unsigned: boolean) => unknown)
    | undefined
  /** Enums: the name, or the number. A number without a name stays a number. Default: `'name'`. */
  readonly enums?: 'name' | 'number' | undefined
  /** `bytes`: a Uint8Array, a text in base64, or what a function makes of a Uint8Array. Default: `'bytes'`. */
  readonly bytes?: 'bytes' | 'base64' | ((bytes: Uint8Array) => unknown) | undefined
  /**
   * Google's well-known types: `'values'` makes `Struct`, `Value` and `ListValue` JSON, a wrapper such as `Int32Value`
   * the value within, `FieldMask` a list of paths, and `Any` the message within with its type as `@type`;
   * `'messages'` leaves all of them, and times, the messages that they are. Default: `'values'`.
   */
  readonly wellKnown?: 'values' | 'messages' | undefined
  /**
   * `google.protobuf.Timestamp`: a Date (which has no nanoseconds), a text such as `2026-01-31T12:00:00.500Z`, or the
   * message `{ seconds, nanos }`. Default: `'date'`.
   */
  readonly timestamps?: 'date' | 'text' | 'message' | undefined
  /** `google.protobuf.Duration`: a text such as `1.500s`, or the message `{ seconds, nanos }`. Default: `'text'`. */
  readonly durations?: 'text' | 'message' | undefined
  /**
   * Fields that were not sent: `'all'` gives those without presence their defaults (0, `''`, `false`, the first value of
   * an enum, `[]`, `{}`), `'nulls'` does so for all fields but those of a oneof, with `null` for messages, `'lists'` only
   * for lists and maps, and `'none'` leaves all of them out. Default: `'all'`.
   */
  readonly defaults?: 'all' | 'nulls' | 'lists' | 'none' | undefined
  /**
   * Fields of proto3 with the value 0, `''` or `false`: by the rules of proto3 they are not sent, and count as not sent
   * (`'proto'`), or they are sent if they are given, and are there if they were sent, as in protobufjs (`'sent'`).
   * Default: `'proto'`.
   */
  readonly presence?: 'proto' | 'sent' | undefined
  /**
   * A oneof: the field that is set, or beside it a property with the name of the oneof, whose value is the name of that
   * field (`'named'`). Default: `'fields'`.
   */
  readonly oneofs?: 'fields' | 'named' | undefined
  /**
   * Whether a value of the wrong type is refused; if not, it is converted as protobufjs does it: a number becomes a
   * text, a text a number, anything a boolean. Default: `true`.
   */
  readonly strict?: boolean | undefined
}
