/** The types of `dist/assets.js`, which `bundle-page.ts` writes. */
export declare const html: string
export declare const script: string
export declare const style: string
