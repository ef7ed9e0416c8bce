/** The file that `bundle-page.ts` makes. */
export declare const html: string
export declare const script: string
export declare const style: string
