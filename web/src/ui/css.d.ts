/** The build provides a style sheet as minified text. */
declare module "*.css" {
  const sheet: string;
  export default sheet;
}
