/** The build gives a style sheet as text, in one piece and without blanks. */
declare module "*.css" {
  const sheet: string;
  export default sheet;
}
