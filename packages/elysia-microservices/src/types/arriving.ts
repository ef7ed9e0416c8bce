/**
 * The type that a value has at the other end, by the codec that carries it. `docs/types.md` has the table;
 * `docs/protocol.md` says what codecs do at run time.
 */
/** How values travel. `eden`: as JSON through a gateway to Eden's `treaty`, which reads the texts of dates as dates. */
type Way = 'json' | 'msgpack' | 'eden'

/**
 * A type of which nothing arrives. For results it says so instead of a type that no value ever has; as a parameter it
 * accepts nothing.
 */
export interface NotCarried<Codec> {
  readonly '~notCarriedBy': Codec
}

/** Values that arrive unchanged, in which nothing has to be looked for. */
interface Kept {
  readonly json: Simple
  readonly msgpack: Simple | bigint | Date | ArrayBuffer | ArrayBufferView
  readonly eden: Simple | Date
}
/** Other runtimes than Node read the bytes of a `Buffer` as a `Uint8Array`. */
type BufferOfNode = Uint8Array & { toJSON(): unknown }

type Simple = string | number | boolean | null | undefined

/**
 * Types of plain data. Most data fits, and costs the compiler one comparison. Interfaces do not fit, because they have no
 * index signature: they are compared with what arrives of them.
 */
type Plain = Listed | undefined
type Listed = string | number | boolean | null | readonly Listed[] | { readonly [name: string]: Plain }

/** Values that no codec carries: left out as members of an object, refused everywhere else. */
type Unsent = symbol | ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)

/** Objects with hidden state, which every codec refuses. */
type Opaque =
  | PromiseLike<unknown>
  | RegExp
  | ArrayBuffer
  | ArrayBufferView
  | WeakMap<never, unknown>
  | WeakSet<never>
  | WeakRef<never>

/** The names that all errors have: a plain object may have some of them, but not all. */
type OfErrors<Type> = string extends keyof Type ? never : keyof Error extends keyof Type ? keyof Error : never

/** JSON carries the other members of an error; MessagePack refuses it. */
type RefusedError<Type, By> = By extends 'msgpack' ? ([OfErrors<Type>] extends [never] ? never : Type) : never

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false

/**
 * The type that arrives. A type that arrives unchanged stays what it is, so editors show its name. So do those types
 * inside another one that do.
 */
type Arrives<Type, By extends Way> = [Type] extends [Plain]
  ? Type
  : unknown extends Type
    ? Type
    : Same<Type, Changed<Type, By, 'compared'>> extends true
      ? Type
      : Told<Changed<Type, By, 'shown'>, By>

/** Says so if nothing arrives. */
type Told<Type, By> = [Type] extends [never] ? NotCarried<By> : Type

/**
 * To compare a type, all that is in it is changed without a comparison: the compiler can compare types that contain
 * themselves, but it cannot decide a comparison within itself.
 */
type Inside<Type, By extends Way, For> = For extends 'compared' ? Changed<Type, By, For> : Arrives<Type, By>

type Changed<Type, By extends Way, For> = unknown extends Type
  ? Type
  : Type extends Kept[By]
    ? Type extends BufferOfNode
      ? Uint8Array
      : Type
    : Type extends Unsent | bigint
      ? never
      : Type extends { toJSON(...args: never[]): infer Made }
        ? Inside<Made, By, For>
        : Type extends readonly unknown[]
          ? { [Index in keyof Type]: Item<Type[Index], By, For> }
          : Type extends ReadonlyMap<infer Key, infer Value>
            ? By extends 'msgpack'
              ? Map<Inside<Key, By, For>, Inside<Value, By, For>>
              : never
            : Type extends ReadonlySet<infer Value>
              ? By extends 'msgpack'
                ? Set<Inside<Value, By, For>>
                : never
              : Type extends Opaque | RefusedError<Type, By>
                ? never
                : // Methods are left out, and the members that every error has. This is no alias, because editors would show
                  // its name.
                  {
                    [Key in keyof Type as Type[Key] extends Unsent
                      ? unknown extends Type[Key]
                        ? Key
                        : never
                      : Key extends symbol | OfErrors<Type>
                        ? never
                        : Key]: Inside<Type[Key], By, For>
                  }

/** In a list JSON has `null` for `undefined`. */
type Item<Type, By extends Way, For> = By extends 'msgpack'
  ? Inside<Type, By, For>
  : unknown extends Type
    ? Type
    : undefined extends Type
      ? Inside<Exclude<Type, undefined>, By, For> | null
      : Inside<Type, By, For>

/** The forms in which a caller gets a handler's value, by the way in which it travels. */
export interface Arriving<Type> {
  readonly json: Arrives<Type, 'json'>
  readonly msgpack: Arrives<Type, 'msgpack'>
  readonly eden: Arrives<Type, 'eden'>
  readonly bytes: Bytes<Type>
  /** A codec of the user's own is trusted to carry everything. */
  readonly own: Type
}

type Bytes<Type> = unknown extends Type
  ? Type
  : [Extract<Type, Uint8Array | undefined>] extends [never]
    ? [Type] extends [never]
      ? never
      : NotCarried<'bytes'>
    : Extract<Type, Uint8Array | undefined>

/**
 * The values that a caller may send, so that the handler gets data of the type that it expects. A value that arrives as
 * another type is refused, unless the handler takes that type, too.
 */
export interface Sending<Type> {
  readonly json: Sendable<Type, 'json'>
  readonly msgpack: Sendable<Type, 'msgpack'>
  readonly eden: Sendable<Type, 'eden'>
  readonly bytes: Bytes<Type>
  readonly own: Type
}

type Sendable<Type, By extends Way> = [Type] extends [Plain]
  ? Type
  : unknown extends Type
    ? Type
    : Same<Type, Changed<Type, By, 'compared'>> extends true
      ? Type
      : Told<Fitting<Type, Type, By>, By>

type Fitting<One, All, By extends Way> = [Changed<One, By, 'compared'>] extends [never]
  ? never
  : [Changed<One, By, 'compared'>] extends [All]
    ? One
    : One extends Kept[By] | { toJSON(...args: never[]): unknown }
      ? never
      : One extends readonly unknown[]
        ? {
            [Index in keyof One]: Sendable<
              By extends 'msgpack' ? One[Index] : Exclude<One[Index], undefined>,
              By
            >
          }
        : One extends ReadonlyMap<infer Key, infer Value>
          ? ReadonlyMap<Sendable<Key, By>, Sendable<Value, By>>
          : One extends ReadonlySet<infer Value>
            ? ReadonlySet<Sendable<Value, By>>
            : { [Key in keyof One]: Sendable<One[Key], By> }

/**
 * The way of a codec. If one of several codecs is used, the types of all of them are possible; those of bytes are not
 * among them, because hardly any pattern could be called.
 */
export type WayOf<Codec> = [Codec] extends [Octets] ? 'bytes' : OneWay<Exclude<Codec, Octets>>
type Octets = 'bytes' | 'application/octet-stream'
type OneWay<Codec> = Codec extends 'json' | 'application/json' | 'shapes' | 'application/x-json-shapes'
  ? 'json'
  : Codec extends 'msgpack' | 'application/x-msgpack'
    ? 'msgpack'
    : 'own'
