/**
 * The names of members that have no values and only carry types. They are symbols, because editors offer no symbol that
 * a file has not imported: behind `service.` and `client.` stand only the names that one may use.
 */
export declare const MESSAGES: unique symbol
export declare const EVENTS: unique symbol
export declare const SCOPE: unique symbol
export declare const KNOWN: unique symbol
export declare const CALLS: unique symbol
