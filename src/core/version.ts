/** The version of this package; a test holds it and package.json together. */
export const VERSION = '0.1.0'
